      * The same policy as a new system wants it: 100 fields.
       01 CONTRACT-RECORD.
           05 PCY-NO               PIC X(12).
           05 PCY-KIND             PIC X(3).
           05 PCY-BRANCH           PIC 9(4).
           05 PCY-STATE            PIC X(8).
           05 PCY-FROM             PIC X(10).
           05 PCY-TO               PIC X(10).
           05 PCY-CCY              PIC X(3).
           05 PCY-PREMIUM          PIC S9(9)V99.
           05 PCY-TAX              PIC S9(7)V99.
           05 PCY-GROSS            PIC S9(9)V99 COMP-3.
           05 HLD-ID               PIC 9(10).
           05 HLD-TITLE            PIC X(6).
           05 HLD-LAST             PIC X(25).
           05 HLD-FIRST            PIC X(15).
           05 HLD-STREET           PIC X(40).
           05 HLD-CITY             PIC X(20).
           05 HLD-STATE            PIC X(2).
           05 HLD-ZIP              PIC X(5).
           05 HLD-PHONE            PIC X(14).
           05 HLD-BORN             PIC 9(8).
           05 HLD-SEX              PIC X(1).
           05 HLD-LANG             PIC X(2).
           05 INS-ID               PIC 9(10).
           05 INS-TITLE            PIC X(6).
           05 INS-LAST             PIC X(25).
           05 INS-FIRST            PIC X(15).
           05 INS-STREET           PIC X(40).
           05 INS-CITY             PIC X(20).
           05 INS-STATE            PIC X(2).
           05 INS-ZIP              PIC X(5).
           05 INS-PHONE            PIC X(14).
           05 INS-BORN             PIC 9(8).
           05 INS-SEX              PIC X(1).
           05 INS-LANG             PIC X(2).
           05 PYR-ID               PIC 9(10).
           05 PYR-TITLE            PIC X(6).
           05 PYR-LAST             PIC X(25).
           05 PYR-FIRST            PIC X(15).
           05 PYR-STREET           PIC X(40).
           05 PYR-CITY             PIC X(20).
           05 PYR-STATE            PIC X(2).
           05 PYR-ZIP              PIC X(5).
           05 PYR-PHONE            PIC X(14).
           05 PYR-BORN             PIC 9(8).
           05 PYR-SEX              PIC X(1).
           05 PYR-LANG             PIC X(2).
           05 AGT-ID               PIC 9(10).
           05 AGT-TITLE            PIC X(6).
           05 AGT-LAST             PIC X(25).
           05 AGT-FIRST            PIC X(15).
           05 AGT-STREET           PIC X(40).
           05 AGT-CITY             PIC X(20).
           05 AGT-STATE            PIC X(2).
           05 AGT-ZIP              PIC X(5).
           05 AGT-PHONE            PIC X(14).
           05 AGT-BORN             PIC 9(8).
           05 AGT-SEX              PIC X(1).
           05 AGT-LANG             PIC X(2).
           05 CVR-1-CODE           PIC X(4).
           05 CVR-1-SUM            PIC S9(9)V99 COMP-3.
           05 CVR-1-RATE           PIC S9(3)V9(4).
           05 CVR-1-EXCESS         PIC S9(7)V99 COMP-3.
           05 CVR-2-CODE           PIC X(4).
           05 CVR-2-SUM            PIC S9(9)V99 COMP-3.
           05 CVR-2-RATE           PIC S9(3)V9(4).
           05 CVR-2-EXCESS         PIC S9(7)V99 COMP-3.
           05 CVR-3-CODE           PIC X(4).
           05 CVR-3-SUM            PIC S9(9)V99 COMP-3.
           05 CVR-3-RATE           PIC S9(3)V9(4).
           05 CVR-3-EXCESS         PIC S9(7)V99 COMP-3.
           05 CVR-4-CODE           PIC X(4).
           05 CVR-4-SUM            PIC S9(9)V99 COMP-3.
           05 CVR-4-RATE           PIC S9(3)V9(4).
           05 CVR-4-EXCESS         PIC S9(7)V99 COMP-3.
           05 CVR-5-CODE           PIC X(4).
           05 CVR-5-SUM            PIC S9(9)V99 COMP-3.
           05 CVR-5-RATE           PIC S9(3)V9(4).
           05 CVR-5-EXCESS         PIC S9(7)V99 COMP-3.
           05 CVR-6-CODE           PIC X(4).
           05 CVR-6-SUM            PIC S9(9)V99 COMP-3.
           05 CVR-6-RATE           PIC S9(3)V9(4).
           05 CVR-6-EXCESS         PIC S9(7)V99 COMP-3.
           05 CLM-COUNT            PIC S9(4) COMP.
           05 CLM-TOTAL            PIC S9(9)V99 COMP-3.
           05 CLM-LAST             PIC 9(8).
           05 BON-CLASS            PIC 9(2).
           05 BON-PERCENT          PIC S9(3)V99 COMP-3.
           05 RSK-ZONE             PIC X(5).
           05 RSK-BUILT            PIC X(10).
           05 RSK-AREA             PIC 9(6) COMP.
           05 RSK-YEAR             PIC 9(4).
           05 RSK-ALARM            PIC X(1).
           05 PAY-BANK             PIC X(25).
           05 PAY-ACCOUNT          PIC X(20).
           05 PAY-EVERY            PIC X(1).
           05 PAY-ON-DAY           PIC 9(2).
           05 MKT-CAMPAIGN         PIC X(8).
           05 MKT-NOTE             PIC X(40).
           05 AUD-USER             PIC X(8).
           05 AUD-DAY              PIC 9(8).
