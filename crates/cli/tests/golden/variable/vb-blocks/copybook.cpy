       01  ORDERS.
           05  ORDER-ID      PIC 9(4).
           05  LINE-COUNT    PIC 9.
           05  NOTE-COUNT    PIC 9.
           05  LINES         OCCURS 0 TO 5 TIMES
                             DEPENDING ON LINE-COUNT.
               10  SKU       PIC X(3).
               10  AMOUNT    PIC S9(3)V99 COMP-3.
           05  NOTES         PIC X(4) OCCURS 1 TO 3 TIMES
                             DEPENDING ON NOTE-COUNT.
           05  TOTAL         PIC 9(5)V99.
