      * What the program CALCINT gets, and where it leaves the interest.
       01  ACCOUNT.
           05  ACCOUNT-ID      PIC X(8).
           05  BALANCE         PIC S9(9)V99 COMP-3.
           05  RATE            PIC 9V9(4).
           05  INTEREST        PIC S9(9)V99 COMP-3.
