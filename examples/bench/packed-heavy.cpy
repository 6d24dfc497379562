      * A position as ledgers hold one: almost all packed decimal,
      * 152 bytes.
       01 POSITION-RECORD.
           05 ACCOUNT-NUMBER       PIC X(12).
           05 SEQUENCE-NUMBER      PIC S9(9) COMP.
           05 VALUE-DATE           PIC S9(8) COMP-3.
           05 BALANCE-01           PIC S9(9)V99 COMP-3.
           05 BALANCE-02           PIC S9(9)V99 COMP-3.
           05 BALANCE-03           PIC S9(9)V99 COMP-3.
           05 BALANCE-04           PIC S9(9)V99 COMP-3.
           05 BALANCE-05           PIC S9(9)V99 COMP-3.
           05 BALANCE-06           PIC S9(9)V99 COMP-3.
           05 BALANCE-07           PIC S9(9)V99 COMP-3.
           05 BALANCE-08           PIC S9(9)V99 COMP-3.
           05 BALANCE-09           PIC S9(9)V99 COMP-3.
           05 BALANCE-10           PIC S9(9)V99 COMP-3.
           05 BALANCE-11           PIC S9(9)V99 COMP-3.
           05 BALANCE-12           PIC S9(9)V99 COMP-3.
           05 QUANTITY-1           PIC S9(5) COMP-3.
           05 QUANTITY-2           PIC S9(5) COMP-3.
           05 QUANTITY-3           PIC S9(5) COMP-3.
           05 QUANTITY-4           PIC S9(5) COMP-3.
           05 QUANTITY-5           PIC S9(5) COMP-3.
           05 QUANTITY-6           PIC S9(5) COMP-3.
           05 QUANTITY-7           PIC S9(5) COMP-3.
           05 QUANTITY-8           PIC S9(5) COMP-3.
           05 TURNOVER-DEBIT       PIC S9(15)V99 COMP-3.
           05 TURNOVER-CREDIT      PIC S9(15)V99 COMP-3.
           05 RATE-BUY             PIC S9(3)V9(6) COMP-3.
           05 RATE-SELL            PIC S9(3)V9(6) COMP-3.
           05 RATE-MID             PIC S9(3)V9(6) COMP-3.
           05 CURRENCY-GROUP       PIC X(2).
