       01  PERSON.
           05  ID            PIC 9(3).
           05  GIVEN-NAME    PIC X(8).
           05  BALANCE       PIC S9(3)V99.
