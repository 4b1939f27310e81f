# rule: 1.8 the emitted C is standard C11, without warnings
# rule: 1.9 no computed goto, nested function or statement expression that the user did not write
# not-with: tcc (has no -pedantic-errors)
$AECC $FLAGS -std=c11 --emit-c -o out.c main.ae
case $CC in clang*) quiet=-Wno-gnu-line-marker ;; *) quiet= ;; esac # as in the output of any preprocessor
$CC $CFLAGS -std=c11 -pedantic-errors -Wall -Wextra -Werror $quiet -x cpp-output -c out.c -o out.o
if grep -nE 'goto *\*|[=,{(] *&&|\( *\{' out.c; then exit 1; fi
$AECC $FLAGS -std=c11 -o prog main.ae
