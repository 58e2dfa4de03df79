/* SPDX-License-Identifier: BSD-3-Clause */
/* run_delegate_test: mpiexec's options as options of srun and prterun */
#include "base/err.h"
#include "base/knob.h"
#include "tools/run_delegate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef void hand_fn(struct weft_run_cmd *, const struct weft_run_opt *);

/* Parse a line of words and translate it; words are joined by "|". */
static void check(hand_fn *hand, const char *line, const char *expected)
{
	char *text = strdup(line), *save = NULL, *argv[40], got[2000] = "";
	struct weft_run_cmd cmd = { 0 };
	struct weft_run_opt opt;
	int argc = 0;

	for (char *w = strtok_r(text, " ", &save); w;
		w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	assert_int_equal(weft_run_opt_parse(&opt, argc, argv), 0);
	hand(&cmd, &opt);
	assert_int_equal(cmd.err, 0);
	for (size_t i = 0; i < cmd.n; i++) {
		strncat(got, i ? "|" : "", sizeof(got) - strlen(got) - 1);
		strncat(got, cmd.argv[i], sizeof(got) - strlen(got) - 1);
	}
	assert_string_equal(got, expected);
	weft_run_cmd_fini(&cmd);
	weft_run_opt_fini(&opt);
	free(text);
}

static void test_slurm(void **state)
{
	(void)state;
	unsetenv("SLURM_STEP_ID");
	check(weft_run_delegate_slurm, "mpiexec -n 4 ./a x",
		"srun|--mpi=pmix|-n|4|--kill-on-bad-exit=1|--input=0|./a|x");
	check(weft_run_delegate_slurm,
		"mpiexec -N 2 -ppn 3 --bind-to socket -l --continue -wdir /d "
		"-n 6 ./a",
		"srun|--mpi=pmix|-n|6|-N|2|--ntasks-per-node=3|"
		"--kill-on-bad-exit=0|--input=0|--label|--cpu-bind=sockets|"
		"--chdir=/d|./a");
	check(weft_run_delegate_slurm,
		"mpiexec --timeout 9 -genvlist A,B -env C d ./a",
		"timeout|--foreground|-k|2|9|srun|--mpi=pmix|"
		"--kill-on-bad-exit=1|--input=0|"
		"--export=PATH,LD_LIBRARY_PATH,A,B,C|./a");
}

/* Options as users of other launchers write them. */
static void test_habits(void **state)
{
	char expected[512];

	(void)state;
	setenv("KEEP", "k", 1);
	check(weft_run_delegate_slurm,
		"mpiexec -N 2 -ppn 3 --oversubscribe --host a:2,b:2,a "
		"--report-bindings -x A=1 -x KEEP -envnone ./a",
		"srun|--mpi=pmix|--nodelist=a,b|--overcommit|-N|2|"
		"--ntasks-per-node=3|--kill-on-bad-exit=1|--input=0|"
		"--cpu-bind=verbose|--export=PATH,LD_LIBRARY_PATH,A,KEEP|"
		"./a");
	check(weft_run_delegate_slurm, "mpiexec -x ./a",
		"srun|--mpi=pmix|--kill-on-bad-exit=0|--input=0|./a");
	snprintf(expected, sizeof(expected),
		"prterun%s|--map-by|slot:OVERSUBSCRIBE|--hostfile|h|--display|"
		"bind|-n|2|-x|A=1|-x|WEFT_UNIVERSE_SIZE=9|./a",
		geteuid() ? "" : "|--allow-run-as-root");
	check(weft_run_delegate_prrte,
		"mpirun --mca btl tcp,self -np 2 -hostfile h --oversubscribe "
		"-x A=1 --report-bindings -usize 9 ./a",
		expected);
}

static void test_slurm_contexts(void **state)
{
	(void)state;
	check(weft_run_delegate_slurm,
		"mpiexec -n 1 ./a it's : -n 2 -env K v -wdir /d ./b",
		"srun|--mpi=pmix|-n|3|--kill-on-bad-exit=1|--input=0|sh|-c|"
		"r=${PMIX_RANK:-$SLURM_PROCID}\n"
		"if [ $r -lt 1 ]; then\nexec './a' 'it'\\''s'\nfi\n"
		"if [ $r -lt 3 ]; then\nexport 'K=v'\n"
		"cd '/d' || exit 127\nexec './b'\nfi\n");
}

static void test_prrte(void **state)
{
	char expected[512];

	(void)state;
	snprintf(expected, sizeof(expected),
		"prterun%s|--map-by|ppr:2:node|--bind-to|package|-n|2|--pset|a|"
		"-x|G=1|./x|:|-n|1|--wdir|/d|-x|G=1|-x|E=2|./y",
		geteuid() ? "" : "|--allow-run-as-root");
	check(weft_run_delegate_prrte,
		"mpiexec -ppn 2 --bind-to socket -genv G 1 -n 2 --pset a ./x : "
		"-wdir /d -env E 2 ./y",
		expected);
	snprintf(expected, sizeof(expected),
		"prun%s|--dvm-uri|file:u|--runtime-options|"
		"recoverable,notifyerrors|-x|WEFT_FT=on|./x",
		geteuid() ? "" : "|--allow-run-as-root");
	check(weft_run_delegate_prrte, "mpiexec --dvm-uri file:u -x ./x",
		expected);
	snprintf(expected, sizeof(expected),
		"prterun%s|-n|2|-x|WEFT_PSETS=a=0-1;b=2-2;a=3-3;|./x|:|-n|1|"
		"-x|WEFT_PSETS=a=0-1;b=2-2;a=3-3;|./x|:|-n|1|"
		"-x|WEFT_PSETS=a=0-1;b=2-2;a=3-3;|./x",
		geteuid() ? "" : "|--allow-run-as-root");
	check(weft_run_delegate_prrte,
		"mpiexec --pset a -n 2 ./x : --pset b -n 1 ./x : --pset a -n 1 "
		"./x",
		expected);
}

/* Several cores for each process, in the syntax of Open MPI and of MPICH. */
static void test_cores(void **state)
{
	char expected[512];

	(void)state;
	check(weft_run_delegate_slurm, "mpiexec -n 2 --cpus-per-proc 4 ./a",
		"srun|--mpi=pmix|-n|2|--kill-on-bad-exit=1|--input=0|"
		"--cpus-per-task=4|./a");
	check(weft_run_delegate_slurm, "mpiexec -n 2 --bind-to core:4 ./a",
		"srun|--mpi=pmix|-n|2|--kill-on-bad-exit=1|--input=0|"
		"--cpus-per-task=4|--cpu-bind=cores|./a");
	snprintf(expected, sizeof(expected),
		"prterun%s|--map-by|package:PE=4|-n|2|./a",
		geteuid() ? "" : "|--allow-run-as-root");
	check(weft_run_delegate_prrte, "mpiexec -n 2 --map-by socket:PE=4 ./a",
		expected);
}

static void test_choose(void **state)
{
	struct weft_run_opt opt = { 0 };
	enum weft_run_by by = WEFT_RUN_BY_PRRTE;

	(void)state;
	unsetenv("SLURM_JOB_ID");
	weft_knobs.mpiexec = "";
	assert_int_equal(weft_run_delegate_choose(&opt, &by), 0);
	assert_int_equal(by, WEFT_RUN_BY_SELF);
	opt.dvm_uri = "file:u";
	assert_int_equal(weft_run_delegate_choose(&opt, &by), 0);
	assert_int_equal(by, WEFT_RUN_BY_PRRTE);
	opt.dvm_uri = NULL;
	setenv("SLURM_JOB_ID", "1", 1);
	setenv("PATH", "/not-there", 1); /* PATH without srun */
	assert_int_equal(weft_run_delegate_choose(&opt, &by), 0);
	assert_int_equal(by, WEFT_RUN_BY_SELF);
	weft_knobs.mpiexec = "slurm";
	assert_int_equal(weft_run_delegate_choose(&opt, &by), 0);
	assert_int_equal(by, WEFT_RUN_BY_SLURM);
	weft_knobs.mpiexec = "somebody";
	assert_int_equal(weft_run_delegate_choose(&opt, &by), WEFT_ERR_ARG);
	assert_int_equal(by, WEFT_RUN_BY_SLURM);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slurm),
		cmocka_unit_test(test_habits),
		cmocka_unit_test(test_slurm_contexts),
		cmocka_unit_test(test_prrte),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
