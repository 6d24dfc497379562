      * An account of a bank that does not exist, 120 bytes.
       01 ACCOUNT-RECORD.
           05 ACCOUNT-ID           PIC 9(8).
           05 ACCOUNT-KIND         PIC X(1).
              88 CURRENT-ACCOUNT   VALUE 'C'.
              88 SAVINGS-ACCOUNT   VALUE 'S'.
           05 HOLDER.
              10 FAMILY-NAME       PIC X(18).
              10 GIVEN-NAME        PIC X(12).
           05 OPENED-ON            PIC 9(8).
           05 BALANCE              PIC S9(9)V99 COMP-3.
           05 OVERDRAFT-LIMIT      PIC S9(7)V99.
           05 INTEREST-RATE        PIC SV9(5) COMP-3.
           05 BRANCH-NUMBER        PIC S9(4) COMP.
           05 LAST-MOVEMENTS OCCURS 3 TIMES.
              10 MOVED-ON          PIC 9(8).
              10 AMOUNT            PIC S9(7)V99 COMP-3.
           05 FILLER               PIC X(14).
