      * The same in COBOL: --function check-digit=cobol:functions/CHECKDIG
      * Compile it with: cobc -m -o functions/CHECKDIG.so CHECKDIG.cbl
       IDENTIFICATION DIVISION.
       PROGRAM-ID. CHECKDIG.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 PLACE   PIC 99 COMP.
       01 WEIGHT  PIC 9 COMP VALUE 3.
       01 TOTAL   PIC 9(4) COMP VALUE 0.
       LINKAGE SECTION.
       01 PARM.
          05 DIGIT-TEXT.
             10 DIGIT PIC X OCCURS 17.
          05 CHECK-DIGIT PIC 9.
       PROCEDURE DIVISION USING PARM.
           PERFORM VARYING PLACE FROM 17 BY -1 UNTIL PLACE = 0
              IF DIGIT(PLACE) NOT = SPACE
                 IF DIGIT(PLACE) NOT NUMERIC
                    MOVE 8 TO RETURN-CODE
                    GOBACK
                 END-IF
                 COMPUTE TOTAL = TOTAL
                    + FUNCTION NUMVAL(DIGIT(PLACE)) * WEIGHT
                 COMPUTE WEIGHT = 4 - WEIGHT
              END-IF
           END-PERFORM
           COMPUTE TOTAL = FUNCTION MOD(10 - FUNCTION MOD(TOTAL 10) 10)
           MOVE TOTAL TO CHECK-DIGIT
           GOBACK.
