      * An account as the host keeps it.
       01  ACCOUNT.
           05  ACCOUNT-ID        PIC 9(8).
           05  HOLDER            PIC X(30).
           05  OPENED-ON         PIC 9(8).
           05  BALANCE           PIC S9(9)V99 SIGN IS LEADING SEPARATE.
