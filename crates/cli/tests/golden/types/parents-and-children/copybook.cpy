       01  CUSTOMER.
           05  KIND          PIC X.
           05  CUSTOMER-ID   PIC 9(4).
           05  CUSTOMER-NAME PIC X(7).
       01  INVOICE.
           05  KIND          PIC X.
           05  INVOICE-ID    PIC 9(5).
           05  FILLER        PIC X(6).
       01  POSITION-LINE.
           05  KIND          PIC X.
           05  SKU           PIC X(4).
           05  AMOUNT        PIC S9(5)V99.
