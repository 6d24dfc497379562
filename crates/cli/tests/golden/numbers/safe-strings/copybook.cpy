       01  NUMBERS.
           05  SMALL         PIC 9(3).
           05  LONG          PIC S9(18) COMP-3.
           05  LONGER        PIC S9(31) COMP-3.
           05  RATE          PIC SV9(5).
           05  THOUSANDS     PIC 9(3)PPP.
           05  SEPARATE-SIGN PIC S9(3) SIGN LEADING SEPARATE.
           05  SHORT-FLOAT   COMP-1.
           05  LONG-FLOAT    COMP-2.
           05  SHOWN         PIC ZZ,ZZ9.99-.
