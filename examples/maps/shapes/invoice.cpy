      * Invoices as billing writes them: a header, its lines, a trailer.
       01 INVOICE-HEADER.
           05 RECORD-TYPE         PIC X(2).
           05 INVOICE-NUMBER      PIC X(10).
           05 INVOICE-DATE        PIC 9(8).
           05 INVOICE-KIND        PIC X(1).
              88 DEBIT-INVOICE    VALUE 'D'.
              88 CREDIT-NOTE      VALUE 'C'.
           05 ORDER-NUMBER        PIC X(22).
           05 ORDER-DATE          PIC 9(8).
           05 CUSTOMER-ID         PIC X(13).
           05 CUSTOMER-NAME       PIC X(35).
           05 STREET              PIC X(35).
           05 CITY                PIC X(30).
           05 REGION              PIC X(2).
           05 POSTCODE            PIC X(10).
           05 COUNTRY             PIC X(2).
           05 CURRENCY-CODE       PIC X(3).
           05 DUE-DAYS            PIC 9(3).
           05 DISCOUNT-DAYS       PIC 9(3).
           05 DISCOUNT-PERCENT    PIC 9(2)V99.
       01 INVOICE-LINE.
           05 RECORD-TYPE         PIC X(2).
           05 LINE-NUMBER         PIC 9(6).
           05 PRODUCT-ID          PIC X(20).
           05 EAN                 PIC 9(13).
           05 PRODUCT-NAME        PIC X(35).
           05 QUANTITY            PIC S9(7)V9(3) COMP-3.
           05 UNIT-CODE           PIC X(3).
           05 PRICE               PIC S9(7)V9(4) COMP-3.
           05 LINE-AMOUNT         PIC S9(9)V99 COMP-3.
           05 TAX-RATE            PIC 9(2)V9.
