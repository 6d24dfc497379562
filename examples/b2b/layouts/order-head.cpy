      * The order file: one record for each order.
       01  ORDER-HEAD.
           05  ORDER-NUMBER    PIC X(22).
           05  ORDER-DATE      PIC 9(8).
           05  BUYER-ID        PIC X(17).
           05  CURRENCY-CODE   PIC X(3).
           05  ORDER-TOTAL     PIC S9(11)V99 COMP-3.
           05  LINE-COUNT      PIC 9(5).
