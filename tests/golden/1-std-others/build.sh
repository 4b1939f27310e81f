# rule: 1.2 1.3 the other standards that a compiler may be asked for
# not-with: tcc (knows no -std)
for std in c11 c17 gnu11 gnu17 gnu99; do
    $AECC $FLAGS -std=$std -o prog.$std main.ae
    ./prog.$std > out.$std
    cmp out.$std out.c11
done
cp prog.gnu17 prog
