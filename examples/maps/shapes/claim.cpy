      * A claim as adjudication takes it: one record a claim.
       01 CLAIM-RECORD.
           05 CLAIM-ID            PIC X(20).
           05 BATCH-REFERENCE     PIC X(30).
           05 RECEIVED-ON         PIC 9(8).
           05 BILLING-NPI         PIC X(10).
           05 BILLING-NAME        PIC X(35).
           05 BILLING-TAX-ID      PIC X(9).
           05 RENDERING-NPI       PIC X(10).
           05 PAYER-ID            PIC X(10).
           05 SUBSCRIBER-ID       PIC X(20).
           05 PATIENT.
              10 FAMILY-NAME      PIC X(25).
              10 GIVEN-NAME       PIC X(15).
              10 BORN-ON          PIC 9(8).
              10 SEX              PIC X(1).
              10 RELATION         PIC X(2).
           05 PLACE-OF-SERVICE    PIC X(2).
           05 FREQUENCY           PIC X(1).
           05 PRIOR-AUTH          PIC X(20).
           05 DIAGNOSES           PIC X(7) OCCURS 12 TIMES.
           05 TOTAL-CHARGE        PIC S9(9)V99 COMP-3.
           05 SERVICE-COUNT       PIC 9(4) COMP.
           05 SERVICES OCCURS 1 TO 50 TIMES
                       DEPENDING ON SERVICE-COUNT.
              10 SERVICE-LINE     PIC 9(4).
              10 PROCEDURE-CODE   PIC X(8).
              10 MODIFIERS        PIC X(2) OCCURS 4 TIMES.
              10 POINTERS         PIC 9(2) OCCURS 4 TIMES.
              10 SERVED-FROM      PIC 9(8).
              10 SERVED-TO        PIC 9(8).
              10 UNITS            PIC S9(5)V9 COMP-3.
              10 CHARGE           PIC S9(7)V99 COMP-3.
