# rule: 1.7 plain text goes through byte for byte
$AECC $FLAGS --emit-c -o plain.out.c plain.ae
$AECC $FLAGS --emit-c -o mixed.out.c mixed.ae
python3 compare.py plain.ae plain.out.c > plain.diff || { cat plain.diff; exit 1; }
python3 compare.py mixed.ae mixed.out.c > mixed.diff || { cat mixed.diff; exit 1; }
printf '#!/bin/sh\necho same\n' > prog
chmod +x prog
