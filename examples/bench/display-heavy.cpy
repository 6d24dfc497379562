      * A customer as most files hold one: text and zoned numbers,
      * 200 bytes.
       01 CUSTOMER-RECORD.
           05 CUSTOMER-ID          PIC 9(10).
           05 LAST-NAME            PIC X(25).
           05 FIRST-NAME           PIC X(15).
           05 STREET               PIC X(40).
           05 CITY                 PIC X(20).
           05 STATE                PIC X(2).
           05 ZIP-CODE             PIC 9(5).
           05 OPENED-ON            PIC 9(8).
           05 BALANCE              PIC S9(9)V99.
           05 CREDIT-LIMIT         PIC S9(9)V99.
           05 INTEREST-RATE        PIC S9(3)V9(4).
           05 MOVEMENT-COUNT       PIC 9(6).
           05 STATUS-CODE          PIC X(1).
           05 NOTE                 PIC X(39).
