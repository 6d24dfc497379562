       01  CONTACT.
           05  KIND          PIC X.
           05  STREET-ADDRESS.
               10  STREET    PIC X(8).
               10  HOUSE     PIC 9(3).
           05  BOX-ADDRESS   REDEFINES STREET-ADDRESS.
               10  BOX       PIC 9(6).
               10  OFFICE    PIC X(5).
           05  CITY          PIC X(5).
