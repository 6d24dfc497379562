4      * An order as the order entry on the host takes it.
       01 ORDER-RECORD.
           05 ORDER-NUMBER        PIC X(22).
           05 ORDER-KIND          PIC X(1).
              88 NEW-ORDER        VALUE 'N'.
              88 ORDER-CHANGE     VALUE 'C'.
              88 CANCELLATION     VALUE 'X'.
           05 ORDER-DATE          PIC 9(8).
           05 DELIVERY-DATE       PIC 9(8).
           05 CURRENCY-CODE       PIC X(3).
           05 BUYER-ID            PIC X(17).
           05 BUYER-NAME          PIC X(35).
           05 SHIP-TO.
              10 SHIP-NAME        PIC X(35).
              10 STREET           PIC X(35).
              10 CITY             PIC X(30).
              10 REGION           PIC X(2).
              10 POSTCODE         PIC X(10).
              10 COUNTRY          PIC X(2).
           05 ORDER-TOTAL         PIC S9(11)V99 COMP-3.
           05 LINE-COUNT          PIC 9(4) COMP.
           05 ORDER-LINES OCCURS 1 TO 500 TIMES
                          DEPENDING ON LINE-COUNT.
              10 LINE-NUMBER      PIC 9(6).
              10 PRODUCT-ID       PIC X(20).
              10 PRODUCT-NAME     PIC X(40).
              10 QUANTITY         PIC S9(9)V9(3) COMP-3.
              10 UNIT-CODE        PIC X(3).
              10 PRICE            PIC S9(9)V9(4) COMP-3.
              10 LINE-AMOUNT      PIC S9(11)V99 COMP-3.
