#!/bin/sh
# Tests of the C SDK and of plugins, natively: `test.sh` tests the SDK, `test.sh PLUGIN_DIR...`
# the plugins in these folders (*.c and tests/*.c) too. Needs a C11 compiler (CC, else cc),
# with sanitizers if it has them. Builds outside of the source tree.
set -eu
sdk=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
compiler=${CC:-cc}
flags="-std=gnu11 -g -O1 -Wall -Wextra -Werror"

echo 'int main(void) { return 0; }' >"$out/probe.c"
if $compiler -fsanitize=address,undefined -o "$out/probe" "$out/probe.c" 2>/dev/null && "$out/probe"; then
    flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=all"
fi
# The arena keeps its blocks for as long as an instance lives.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

mkdir "$out/objects"
for file in "$sdk"/src/*.c "$sdk"/testing/*.c; do
    # These two are for WebAssembly.
    case $file in */src/bindings.c | */src/wasi.c) continue ;; esac
    $compiler $flags -I"$sdk/include" -I"$sdk/testing" -c -o "$out/objects/$(basename "$(dirname "$file")")-$(basename "$file" .c).o" "$file"
done

run() {
    name=$1
    shift
    $compiler $flags -I"$sdk/include" -I"$sdk/testing" -o "$out/$name" "$@" "$out"/objects/*.o -lm
    printf '%s: ' "${name%.out}"
    "$out/$name"
}

# Authors may be stricter, and may write C++.
echo '#include "wharf.h"' >"$out/header.c"
$compiler -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$sdk/include" "$out/header.c"
if command -v "${CXX:-c++}" >/dev/null; then
    "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -I"$sdk/include" "$sdk/tests/header.cc"
fi

# The examples of the README are a plugin and its test.
mkdir -p "$out/readme/tests"
awk -v out="$out/readme" '/^```c$/ { n++; next } /^```$/ { n += n % 2; next } n % 2 { print > (out (n == 1 ? "/plugin.c" : "/tests/test.c")) }' "$sdk/README.md"

run sdk.out "$sdk"/tests/*.c
for plugin in "$out/readme" "$@"; do
    run "$(basename "$plugin").out" "$plugin"/*.c "$plugin"/tests/*.c
done
