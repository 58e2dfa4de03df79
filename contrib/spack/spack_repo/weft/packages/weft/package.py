# SPDX-License-Identifier: BSD-3-Clause
# package: Weft for Spack
import os
import re

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Weft(AutotoolsPackage):
    """MPI with the Sessions Model, and OpenSHMEM, on libfabric and PMIx."""

    executables = [r"^weft-info$"]

    license("BSD-3-Clause")

    # Before the first release, Spack takes the tarball of contrib/make-tarball from
    # the current folder ("spack install --no-checksum weft").
    manual_download = True
    download_instr = "Make weft-0.1.0.tar.xz by contrib/make-tarball in the current folder."
    url = f"file://{os.getcwd()}/weft-0.1.0.tar.xz"
    version("0.1.0")

    variant("fortran", default=True, description="Fortran modules and mpifort")
    variant("uring", default=True, description="Files by io_uring instead of threads")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libfabric@1.17:")
    depends_on("pmix@4.2:")
    depends_on("hwloc@2.9:")
    depends_on("liburing@2.0:", when="+uring")

    conflicts("platform=darwin")
    conflicts("platform=windows")
    conflicts("%fortran=gcc@:11", when="+fortran", msg="mpi_f08 needs gfortran 12 or later")

    # The scripts must name the real compilers, not Spack's wrappers.
    filter_compiler_wrappers(
        "mpicc", "mpicxx", "mpic++", "mpifort", "mpif77", "mpif90",
        "oshcc", "oshc++", "oshcxx",
        relative_root="bin",
    )

    @classmethod
    def determine_version(cls, exe):
        output = Executable(exe)("--version", output=str, error=str)
        match = re.search(r"^weft +(\S+)", output)
        return match.group(1) if match else None

    @classmethod
    def determine_variants(cls, exes, version):
        has_fortran = any(
            os.path.exists(os.path.join(os.path.dirname(exe), "mpifort")) for exe in exes
        )
        return "+fortran" if has_fortran else "~fortran"

    def configure_args(self):
        return self.enable_or_disable("fortran") + self.enable_or_disable("uring")

    @property
    def headers(self):
        found = find_headers("mpi", root=self.prefix.include, recursive=False)
        found.directories = [self.prefix.include]
        return found

    @property
    def libs(self):
        names = ["libmpi_abi"]
        if "f77" in self.spec.last_query.extra_parameters:
            names.insert(0, "libweft_fortran")
        return find_libraries(names, root=self.prefix.lib, shared=True, recursive=False)

    def setup_run_environment(self, env):
        bin = self.prefix.bin
        env.set("MPICC", join_path(bin, "mpicc"))
        env.set("MPICXX", join_path(bin, "mpicxx"))
        if self.spec.satisfies("+fortran"):
            env.set("MPIF77", join_path(bin, "mpif77"))
            env.set("MPIF90", join_path(bin, "mpif90"))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # A dependent package compiles with Spack's wrappers. It has one for each
        # language that it depends on, and an external Weft has none.
        module = dependent_spec.package.module
        for variable, wrapper in (
            ("WEFT_CC", "spack_cc"),
            ("WEFT_CXX", "spack_cxx"),
            ("WEFT_FC", "spack_fc"),
        ):
            if hasattr(module, wrapper):
                env.set(variable, getattr(module, wrapper))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpifc = join_path(self.prefix.bin, "mpif90")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")

    @run_after("install")
    def keep_example(self):
        cache_extra_test_sources(self, ["contrib/examples"])

    def test_mpi(self):
        """compile an example with mpicc and run two processes"""
        source = join_path(self.test_suite.current_test_cache_dir, "contrib", "examples")
        Executable(self.prefix.bin.mpicc)("-o", "sessions", join_path(source, "sessions.c"))
        output = Executable(self.prefix.bin.mpiexec)(
            "-n", "2", "./sessions", output=str.split, error=str.split
        )
        assert "rank 1 of 2" in output

    def test_openshmem(self):
        """compile an example with oshcc and run two PEs"""
        source = join_path(self.test_suite.current_test_cache_dir, "contrib", "examples")
        Executable(self.prefix.bin.oshcc)("-o", "hello", join_path(source, "hello_shmem.c"))
        output = Executable(self.prefix.bin.oshrun)(
            "-n", "2", "./hello", output=str.split, error=str.split
        )
        assert "PE 1 of 2" in output
