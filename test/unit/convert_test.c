/* SPDX-License-Identifier: BSD-3-Clause */
/* convert_test: handles and statuses as integers and back
 *
 * The conversions must work before any session. Info objects represent all
 * kinds of handles with a table. */
#include <mpi.h>

#include "core/info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static MPI_Info make_info(struct weft_info **object_out)
{
	*object_out = weft_info_create();
	assert_non_null(*object_out);
	return (MPI_Info)(uintptr_t)weft_obj_handle(*object_out);
}

static void predefined_handles_keep_their_value(void **state)
{
	(void)state;
	assert_int_equal(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
	assert_ptr_equal(MPI_Comm_fromint(0x102), MPI_COMM_SELF);
	assert_ptr_equal(MPI_Comm_f2c(0x100), MPI_COMM_NULL);
	assert_int_equal(MPI_Group_c2f(MPI_GROUP_EMPTY), 0x109);
	assert_ptr_equal(MPI_Group_fromint(0x108), MPI_GROUP_NULL);
	assert_ptr_equal(MPI_Win_fromint(0x110), MPI_WIN_NULL);
	assert_ptr_equal(MPI_File_fromint(0x118), MPI_FILE_NULL);
	assert_ptr_equal(MPI_Session_fromint(0x120), MPI_SESSION_NULL);
	assert_ptr_equal(MPI_Message_fromint(0x129), MPI_MESSAGE_NO_PROC);
	assert_ptr_equal(MPI_Info_fromint(0x131), MPI_INFO_ENV);
	assert_ptr_equal(MPI_Errhandler_fromint(0x143), MPI_ERRORS_RETURN);
	assert_ptr_equal(MPI_Request_f2c(0x180), MPI_REQUEST_NULL);
	assert_ptr_equal(MPI_Op_f2c(MPI_Op_c2f(MPI_MAXLOC)), MPI_MAXLOC);
	assert_ptr_equal(
		MPI_Type_fromint(MPI_Type_toint(MPI_INT32_T)), MPI_INT32_T);
}

static void live_handle_survives_the_round_trip(void **state)
{
	struct weft_info *a, *b;
	MPI_Info info = make_info(&a);
	MPI_Info other = make_info(&b);
	int n;

	(void)state;
	n = MPI_Info_toint(info);
	assert_ptr_equal(MPI_Info_fromint(n), info);
	assert_int_equal(MPI_Info_c2f(info), n);
	assert_ptr_equal(MPI_Info_f2c(n), info);
	assert_int_not_equal(MPI_Info_toint(other), n);
	weft_info_destroy(b);
	weft_info_destroy(a);
}

static void integer_of_a_freed_handle_does_not_revive_it(void **state)
{
	struct weft_info *object;
	MPI_Info dead = make_info(&object);
	MPI_Info next;

	(void)state;
	weft_info_destroy(object);
	assert_ptr_not_equal(MPI_Info_fromint(MPI_Info_toint(dead)), dead);
	next = make_info(&object);
	assert_ptr_not_equal(MPI_Info_fromint(MPI_Info_toint(dead)), dead);
	assert_ptr_equal(MPI_Info_fromint(MPI_Info_toint(next)), next);
	weft_info_destroy(object);
}

static void integer_of_another_kind_is_not_a_live_handle(void **state)
{
	struct weft_info *object;
	MPI_Info info = make_info(&object);
	int n = MPI_Info_toint(info);

	(void)state;
	assert_ptr_not_equal(MPI_Comm_fromint(n), info);
	assert_int_equal(MPI_Comm_toint(MPI_Comm_fromint(n)), n);
	assert_int_equal(MPI_Win_toint(MPI_Win_fromint(-1)), -1);
	weft_info_destroy(object);
}

static void a_status_survives_conversion_to_fortran(void **state)
{
	MPI_Status c = { .MPI_SOURCE = 3, .MPI_TAG = 7, .MPI_ERROR = 15 };
	MPI_Status back;
	MPI_F08_status f08;
	MPI_Fint f[MPI_F_STATUS_SIZE + 1];
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		c.MPI_internal[i] = -100 - i;
	memset(f, 0x5a, sizeof(f));
	memset(&back, 0, sizeof(back));
	assert_int_equal(MPI_Status_c2f(&c, f), MPI_SUCCESS);
	assert_int_equal(f[MPI_F_SOURCE], 3);
	assert_int_equal(f[MPI_F_TAG], 7);
	assert_int_equal(f[MPI_F_ERROR], 15);
	assert_int_equal(f[MPI_F_STATUS_SIZE], 0x5a5a5a5a);
	assert_int_equal(MPI_Status_f2f08(f, &f08), MPI_SUCCESS);
	assert_int_equal(f08.MPI_TAG, 7);
	assert_int_equal(MPI_Status_f082c(&f08, &back), MPI_SUCCESS);
	assert_memory_equal(&back, &c, sizeof(c));
	memset(&f08, 0, sizeof(f08));
	assert_int_equal(MPI_Status_c2f08(&c, &f08), MPI_SUCCESS);
	memset(f, 0, sizeof(f));
	assert_int_equal(MPI_Status_f082f(&f08, f), MPI_SUCCESS);
	memset(&back, 0, sizeof(back));
	assert_int_equal(MPI_Status_f2c(f, &back), MPI_SUCCESS);
	assert_memory_equal(&back, &c, sizeof(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(predefined_handles_keep_their_value),
		cmocka_unit_test(live_handle_survives_the_round_trip),
		cmocka_unit_test(integer_of_a_freed_handle_does_not_revive_it),
		cmocka_unit_test(integer_of_another_kind_is_not_a_live_handle),
		cmocka_unit_test(a_status_survives_conversion_to_fortran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
