#!/bin/bash -eu
# SPDX-License-Identifier: BSD-3-Clause
# build.sh: builds the harnesses of test/fuzz for OSS-Fuzz
#
# OSS-Fuzz sets SRC, WORK, OUT, CC, CFLAGS and LIB_FUZZING_ENGINE. The harnesses
# are linked with Weft's static library. The libraries below Weft are copied to
# OUT/lib, because the machine that runs the harnesses does not have them.
mkdir -p "$WORK/build" "$OUT/lib"
[ -x "$SRC/weft/configure" ] || "$SRC/weft/autogen.sh"
cd "$WORK/build"
export LIB_FUZZING_ENGINE
"$SRC/weft/configure" --enable-fuzz --disable-shared --disable-fortran
cd "$SRC/weft/test/fuzz/corpus"
harnesses=$(echo fuzz_*)
cd "$WORK/build"
# shellcheck disable=SC2086
make -j"$(nproc)" ${harnesses//fuzz_/test/fuzz/fuzz_}
for name in $harnesses; do
	cp "test/fuzz/$name" "$OUT/"
	ldd "test/fuzz/$name" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
		grep -v '/\(libc\|libm\|libdl\|librt\|libpthread\|libresolv\)\.so' |
		while read -r library; do
			cp -nL "$library" "$OUT/lib/"
		done
	patchelf --force-rpath --set-rpath "\$ORIGIN/lib" "$OUT/$name"
	zip -q -j "$OUT/${name}_seed_corpus.zip" "$SRC/weft/test/fuzz/corpus/$name"/*
	printf '[libfuzzer]\nmax_len = 1024\n' > "$OUT/$name.options"
done
for library in "$OUT"/lib/*; do
	patchelf --force-rpath --set-rpath "\$ORIGIN" "$library"
done
