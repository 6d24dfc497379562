       01  PERSON.
           05  ID            PIC 9(3).
           05  GIVEN-NAME    PIC X(10).
           05  TAIL          PIC X(2).
