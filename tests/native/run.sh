#!/bin/sh
# Builds and runs the tests of the engine under the compiler's sanitizers, in
# build/native-*. What this machine lacks is said, and left out.
set -u
cd "$(dirname "$0")/../.."
compiler=${CXX:-c++}
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

if ! command -v "${compiler%% *}" >/dev/null 2>&1; then
    echo "There is no C++ compiler here: the tests of the native engine are skipped."
    exit 0
fi

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int main() { return 0; }' >"$probe/probe.cpp"

# The command that starts a program with these sanitizers: none, or `setarch -R`, since
# the thread sanitizer of older compilers cannot live with much random placement.
starter() {
    $compiler -fsanitize="$1" "$probe/probe.cpp" -o "$probe/probe" 2>/dev/null || return 1
    for start in "" "setarch -R" "setarch $(uname -m) -R"; do
        $start "$probe/probe" >/dev/null 2>&1 && echo "$start" && return 0
    done
    return 1
}

failed=0
for kind in address,undefined,float-cast-overflow thread; do
    name=native-${kind%%,*}
    if ! start=$(starter "$kind"); then
        echo "Programs with -fsanitize=$kind cannot be built or run here: skipped."
        continue
    fi
    echo "The native engine with -fsanitize=$kind:"
    if ! { cmake -S . -B "build/$name" -DSUBSTRAX_TESTS=ON -DSUBSTRAX_SANITIZE="$kind" &&
        cmake --build "build/$name" --parallel "$jobs"; } >"$probe/log" 2>&1; then
        cat "$probe/log"
        echo "The tests of the native engine could not be built."
        exit 1
    fi
    $start "build/$name/native_tests" || failed=1
done
exit $failed
