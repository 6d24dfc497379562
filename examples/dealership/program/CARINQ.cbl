       IDENTIFICATION DIVISION.
       PROGRAM-ID. CARINQ.
      *****************************************************************
      * The car inquiry: the system of record behind the two APIs.    *
      * Reads its stock from data/cars.dat and data/dealers.dat when  *
      * it is called first, and answers from storage.                 *
      *                                                               *
      * Compile: cobc -m -std=ibm -fodoslide -I . -o modules/CARINQ.so*
      *          program/CARINQ.cbl                                   *
      *                                                               *
      * RESP-MAJ-RET-CODE  0 answered (availability A or S)           *
      *                    4 no car of the model (availability N)     *
      *                    8 more asked for than the tables hold;     *
      *                      RESP-MNR-RET-CODE -12                    *
      *                   16 the stock cannot be read                 *
      *****************************************************************
       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT CAR-FILE ASSIGN TO "data/cars.dat"
               ORGANIZATION LINE SEQUENTIAL FILE STATUS CAR-STATUS.
           SELECT DEALER-FILE ASSIGN TO "data/dealers.dat"
               ORGANIZATION LINE SEQUENTIAL FILE STATUS DEALER-STATUS.
       DATA DIVISION.
       FILE SECTION.
       FD  CAR-FILE.
       01  CAR-LINE.
           05 LINE-REF             PIC X(12).
           05 LINE-MODEL           PIC X(12).
           05 LINE-COST            PIC X(12).
           05 LINE-EXTRA           PIC X OCCURS 17.
       FD  DEALER-FILE.
       01  DEALER-LINE             PIC X(124).
       WORKING-STORAGE SECTION.
       01  CAR-STATUS              PIC XX.
       01  DEALER-STATUS           PIC XX.
       01  LOADED                  PIC X VALUE 'N'.
       01  STOCK-COUNT             PIC S9(9) COMP-5 VALUE 0.
       01  DEALER-COUNT            PIC S9(9) COMP-5 VALUE 0.
      * Rows as the COMMAREA has them.
       01  STOCK.
           05 STOCK-CAR OCCURS 500 INDEXED BY CX.
              10 STOCK-REF         PIC X(12).
              10 STOCK-MODEL       PIC X(12).
              10 STOCK-COST        PIC X(12).
              10 STOCK-EXTRA       PIC X(12) OCCURS 17 INDEXED BY EX.
       01  DEALERS.
           05 DEALER-ROW           PIC X(124) OCCURS 25 INDEXED BY DX.
       01  FOUND.
           05 FOUND-CAR            PIC X(240) OCCURS 100.
       01  NC                      PIC S9(9) COMP-5.
       01  ND                      PIC S9(9) COMP-5.
       01  WANTED                  PIC S9(9) COMP-5.
       01  OF-MODEL                PIC S9(9) COMP-5.
       01  FITS                    PIC X.
       01  WITH-EXTRAS             PIC X.
       01  I                       PIC S9(9) COMP-5.
       01  NOW                     PIC X(21).
       LINKAGE SECTION.
       01  DFHCOMMAREA.
           COPY "car100.cpy".
       01  RAW-AREA                PIC X(30128).
       PROCEDURE DIVISION USING DFHCOMMAREA.
       MAIN-PARA.
           IF LOADED = 'N' PERFORM LOAD-STOCK END-IF.
           MOVE REQ-MAX-NBR-OF-CARS TO WANTED.
           MOVE REQ-MAX-NBR-OF-DEALERS TO ND.
           MOVE 0 TO NC RESP-MAJ-RET-CODE RESP-MNR-RET-CODE.
           MOVE 'A' TO RESP-AVAILABILITY-FLAG.
           EVALUATE TRUE
              WHEN LOADED = 'F'
                 MOVE 16 TO RESP-MAJ-RET-CODE
              WHEN WANTED > 100 OR ND > 25
                 MOVE 8 TO RESP-MAJ-RET-CODE
                 MOVE -12 TO RESP-MNR-RET-CODE
              WHEN (REQ-CAR-MODEL = SPACES OR LOW-VALUES)
               AND (REQ-LIST-EXTRAS = SPACES OR LOW-VALUES)
                 MOVE FUNCTION MIN (WANTED STOCK-COUNT) TO NC
              WHEN OTHER
                 PERFORM SEARCH-STOCK
           END-EVALUATE.
           IF RESP-MAJ-RET-CODE NOT = 0
              MOVE 0 TO NC ND
              MOVE 'N' TO RESP-AVAILABILITY-FLAG
           END-IF.
           IF ND > DEALER-COUNT MOVE DEALER-COUNT TO ND END-IF.
           PERFORM ANSWER.
           GOBACK.

      * Cars of the model that have every extra asked for; if there is
      * none, cars of the model: similar ones.
       SEARCH-STOCK.
           MOVE 'Y' TO WITH-EXTRAS.
           PERFORM SEARCH-ONCE.
           IF NC = 0 AND OF-MODEL > 0 AND WANTED > 0
              MOVE 'N' TO WITH-EXTRAS
              PERFORM SEARCH-ONCE
              MOVE 'S' TO RESP-AVAILABILITY-FLAG
           END-IF.
           IF OF-MODEL = 0 MOVE 4 TO RESP-MAJ-RET-CODE END-IF.

       SEARCH-ONCE.
           MOVE 0 TO NC OF-MODEL.
           PERFORM VARYING CX FROM 1 BY 1 UNTIL CX > STOCK-COUNT
              IF REQ-CAR-MODEL = SPACES OR LOW-VALUES
                 OR STOCK-MODEL (CX) = REQ-CAR-MODEL
                 ADD 1 TO OF-MODEL
                 MOVE 'Y' TO FITS
                 IF WITH-EXTRAS = 'Y' PERFORM CHECK-EXTRAS END-IF
                 IF FITS = 'Y' AND NC < WANTED
                    ADD 1 TO NC
                    MOVE STOCK-CAR (CX) TO FOUND-CAR (NC)
                 END-IF
              END-IF
           END-PERFORM.

      * The n-th character of REQ-LIST-EXTRAS asks for the n-th extra.
       CHECK-EXTRAS.
           PERFORM VARYING I FROM 1 BY 1 UNTIL I > 17
              IF REQ-LIST-EXTRAS (I:1) = 'Y'
                 AND STOCK-EXTRA (CX I) NOT = 'YES'
                 MOVE 'N' TO FITS
              END-IF
           END-PERFORM.

       ANSWER.
           MOVE NC TO RESP-NBR-OF-CARS-RETURNED.
           MOVE ND TO RESP-NBR-OF-DEALERS-RETURNED.
           MOVE 52 TO RESP-TXN-INPUT-DATA-LEN.
           COMPUTE RESP-TXN-OUTPUT-DATA-LEN = 3028 + 240 * NC + 124 * ND.
           MOVE RESP-TXN-OUTPUT-DATA-LEN TO RESP-TXN-DATA-LEN.
           MOVE FUNCTION CURRENT-DATE TO NOW.
           SET ADDRESS OF RAW-AREA TO ADDRESS OF DFHCOMMAREA.
           MOVE SPACES TO RAW-AREA (74:8) RESP-TIMESTAMP.
           MOVE NOW (1:8) TO THE-DATE.
           MOVE '--' TO RESP-TIMESTAMP (9:2).
           STRING NOW (9:2) ':' NOW (11:2) ':' NOW (13:2)
              DELIMITED BY SIZE INTO THE-TIME.
           IF NC > 0
              IF REQ-CAR-MODEL = SPACES OR LOW-VALUES
                 IF REQ-LIST-EXTRAS = SPACES OR LOW-VALUES
                    MOVE STOCK (1:240 * NC) TO RAW-AREA (129:240 * NC)
                 ELSE
                    MOVE FOUND (1:240 * NC) TO RAW-AREA (129:240 * NC)
                 END-IF
              ELSE
                 MOVE FOUND (1:240 * NC) TO RAW-AREA (129:240 * NC)
              END-IF
           END-IF.
           COMPUTE I = 129 + 240 * NC.
           IF ND > 0
              MOVE DEALERS (1:124 * ND) TO RAW-AREA (I:124 * ND)
           END-IF.
           COMPUTE I = I + 124 * ND.
           MOVE SPACES TO RAW-AREA (I:2900).

       LOAD-STOCK.
           MOVE 'F' TO LOADED.
           OPEN INPUT CAR-FILE.
           IF CAR-STATUS NOT = '00' EXIT PARAGRAPH END-IF.
           PERFORM UNTIL CAR-STATUS NOT = '00' OR STOCK-COUNT = 500
              READ CAR-FILE
              IF CAR-STATUS = '00'
                 ADD 1 TO STOCK-COUNT
                 SET CX TO STOCK-COUNT
                 MOVE LINE-REF TO STOCK-REF (CX)
                 MOVE LINE-MODEL TO STOCK-MODEL (CX)
                 MOVE LINE-COST TO STOCK-COST (CX)
                 PERFORM VARYING I FROM 1 BY 1 UNTIL I > 17
                    IF LINE-EXTRA (I) = 'Y'
                       MOVE 'YES' TO STOCK-EXTRA (CX I)
                    ELSE
                       MOVE 'NO' TO STOCK-EXTRA (CX I)
                    END-IF
                 END-PERFORM
              END-IF
           END-PERFORM.
           CLOSE CAR-FILE.
           OPEN INPUT DEALER-FILE.
           IF DEALER-STATUS NOT = '00' EXIT PARAGRAPH END-IF.
           PERFORM UNTIL DEALER-STATUS NOT = '00' OR DEALER-COUNT = 25
              READ DEALER-FILE
              IF DEALER-STATUS = '00'
                 ADD 1 TO DEALER-COUNT
                 MOVE DEALER-LINE TO DEALER-ROW (DEALER-COUNT)
              END-IF
           END-PERFORM.
           CLOSE DEALER-FILE.
           MOVE 'Y' TO LOADED.
