      * A policy as an old system keeps it: 100 fields.
       01 POLICY-RECORD.
           05 POLICY-NUMBER        PIC X(12).
           05 POLICY-TYPE          PIC X(3).
           05 BRANCH               PIC 9(4).
           05 STATUS               PIC X(1).
           05 INCEPTION-DATE       PIC 9(8).
           05 EXPIRY-DATE          PIC 9(8).
           05 CURRENCY-CODE        PIC X(3).
           05 ANNUAL-PREMIUM       PIC S9(9)V99 COMP-3.
           05 TAX-AMOUNT           PIC S9(7)V99 COMP-3.
           05 FEES                 PIC S9(7)V99 COMP-3.
           05 HOLDER-ID            PIC 9(10).
           05 HOLDER-TITLE         PIC X(6).
           05 HOLDER-LAST-NAME     PIC X(25).
           05 HOLDER-FIRST-NAME    PIC X(15).
           05 HOLDER-STREET        PIC X(40).
           05 HOLDER-CITY          PIC X(20).
           05 HOLDER-STATE         PIC X(2).
           05 HOLDER-ZIP           PIC 9(5).
           05 HOLDER-PHONE         PIC X(14).
           05 HOLDER-BIRTH-DATE    PIC 9(8).
           05 HOLDER-GENDER        PIC X(1).
           05 HOLDER-LANGUAGE      PIC X(2).
           05 INSURED-ID           PIC 9(10).
           05 INSURED-TITLE        PIC X(6).
           05 INSURED-LAST-NAME    PIC X(25).
           05 INSURED-FIRST-NAME   PIC X(15).
           05 INSURED-STREET       PIC X(40).
           05 INSURED-CITY         PIC X(20).
           05 INSURED-STATE        PIC X(2).
           05 INSURED-ZIP          PIC 9(5).
           05 INSURED-PHONE        PIC X(14).
           05 INSURED-BIRTH-DATE   PIC 9(8).
           05 INSURED-GENDER       PIC X(1).
           05 INSURED-LANGUAGE     PIC X(2).
           05 PAYER-ID             PIC 9(10).
           05 PAYER-TITLE          PIC X(6).
           05 PAYER-LAST-NAME      PIC X(25).
           05 PAYER-FIRST-NAME     PIC X(15).
           05 PAYER-STREET         PIC X(40).
           05 PAYER-CITY           PIC X(20).
           05 PAYER-STATE          PIC X(2).
           05 PAYER-ZIP            PIC 9(5).
           05 PAYER-PHONE          PIC X(14).
           05 PAYER-BIRTH-DATE     PIC 9(8).
           05 PAYER-GENDER         PIC X(1).
           05 PAYER-LANGUAGE       PIC X(2).
           05 AGENT-ID             PIC 9(10).
           05 AGENT-TITLE          PIC X(6).
           05 AGENT-LAST-NAME      PIC X(25).
           05 AGENT-FIRST-NAME     PIC X(15).
           05 AGENT-STREET         PIC X(40).
           05 AGENT-CITY           PIC X(20).
           05 AGENT-STATE          PIC X(2).
           05 AGENT-ZIP            PIC 9(5).
           05 AGENT-PHONE          PIC X(14).
           05 AGENT-BIRTH-DATE     PIC 9(8).
           05 AGENT-GENDER         PIC X(1).
           05 AGENT-LANGUAGE       PIC X(2).
           05 COVER-1-CODE         PIC X(4).
           05 COVER-1-SUM          PIC S9(9)V99 COMP-3.
           05 COVER-1-RATE         PIC S9(3)V9(4) COMP-3.
           05 COVER-1-EXCESS       PIC S9(7)V99.
           05 COVER-2-CODE         PIC X(4).
           05 COVER-2-SUM          PIC S9(9)V99 COMP-3.
           05 COVER-2-RATE         PIC S9(3)V9(4) COMP-3.
           05 COVER-2-EXCESS       PIC S9(7)V99.
           05 COVER-3-CODE         PIC X(4).
           05 COVER-3-SUM          PIC S9(9)V99 COMP-3.
           05 COVER-3-RATE         PIC S9(3)V9(4) COMP-3.
           05 COVER-3-EXCESS       PIC S9(7)V99.
           05 COVER-4-CODE         PIC X(4).
           05 COVER-4-SUM          PIC S9(9)V99 COMP-3.
           05 COVER-4-RATE         PIC S9(3)V9(4) COMP-3.
           05 COVER-4-EXCESS       PIC S9(7)V99.
           05 COVER-5-CODE         PIC X(4).
           05 COVER-5-SUM          PIC S9(9)V99 COMP-3.
           05 COVER-5-RATE         PIC S9(3)V9(4) COMP-3.
           05 COVER-5-EXCESS       PIC S9(7)V99.
           05 COVER-6-CODE         PIC X(4).
           05 COVER-6-SUM          PIC S9(9)V99 COMP-3.
           05 COVER-6-RATE         PIC S9(3)V9(4) COMP-3.
           05 COVER-6-EXCESS       PIC S9(7)V99.
           05 CLAIM-COUNT          PIC S9(4) COMP.
           05 CLAIM-TOTAL          PIC S9(9)V99 COMP-3.
           05 LAST-CLAIM-DATE      PIC 9(8).
           05 BONUS-CLASS          PIC 9(2).
           05 BONUS-PERCENT        PIC S9(3)V99 COMP-3.
           05 RISK-ZONE            PIC X(5).
           05 CONSTRUCTION         PIC X(10).
           05 FLOOR-AREA           PIC 9(6) COMP.
           05 BUILT-YEAR           PIC 9(4).
           05 ALARM                PIC X(1).
           05 BANK-NAME            PIC X(25).
           05 BANK-ACCOUNT         PIC X(20).
           05 PAY-FREQUENCY        PIC X(1).
           05 PAY-DAY              PIC 9(2).
           05 CAMPAIGN             PIC X(8).
           05 BROKER-NOTE          PIC X(40).
           05 UPDATED-BY           PIC X(8).
           05 UPDATED-ON           PIC 9(8).
