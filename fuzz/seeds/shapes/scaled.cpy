4       01 R.
           05 A PIC 9(4)P.
           05 B PIC SPP9 COMP-3.
           05 C PIC X(3).
