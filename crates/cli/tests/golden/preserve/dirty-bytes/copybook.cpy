       01  PART.
           05  SKU           PIC X(6).
           05  NAME          PIC X(12).
           05  QUANTITY      PIC S9(4) COMP.
           05  PRICE         PIC S9(5)V99 COMP-3.
           05  CHANGE        PIC S9(3).
           05  WEIGHT        PIC 9(3)V9.
           05  FILLER        PIC X(2).
