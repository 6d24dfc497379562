       01  LETTER.
           05  CODE          PIC 9(2).
           05  BODY          PIC X(12).
