# rule: 1.7 what is outside of aesop functions goes through byte for byte, as the compiler's preprocessor prints it
for name in plain mixed; do
    $AECC $FLAGS -E -o $name.i $name.ae
    $AECC $FLAGS --emit-c -o $name.out.c $name.ae
    python3 compare.py $name.i $name.out.c > $name.diff || { cat $name.diff; exit 1; }
done
printf '#!/bin/sh\necho same\n' > prog
chmod +x prog
