      *****************************************************************
      * CAR100: the COMMAREA of a car inquiry, 30,128 bytes.          *
      * Request 52 bytes at 1, response 76 at 53, car finder 30,000   *
      * at 129. Field names are those of the report that measures it  *
      * (z/OS Connect EE V3.0, "Improve performance by reducing your  *
      * JSON payload size", September 2020, figure 3).                *
      *****************************************************************
      * What the caller asks for.
           03 REQ-TXN-REQUEST-BLOCK.
              05 REQ-CAR-MODEL                PIC X(8).
              05 REQ-LIST-EXTRAS              PIC X(36).
              05 REQ-MAX-NBR-OF-CARS          PIC 9(09) COMP.
              05 REQ-MAX-NBR-OF-DEALERS       PIC 9(09) COMP.
      * What the program answers.
           03 RESP-TXN-RESPONSE-BLOCK.
              05 RESP-AVAILABILITY-FLAG       PIC X(01).
                 88 RESP-AVAILABLE            VALUE 'A'.
                 88 RESP-NONE                 VALUE 'N'.
                 88 RESP-SIMILAR              VALUE 'S'.
              05 RESP-NBR-OF-CARS-RETURNED    PIC 9(09) COMP.
              05 RESP-NBR-OF-DEALERS-RETURNED PIC 9(09) COMP.
              05 RESP-TXN-INPUT-DATA-LEN      PIC 9(09) COMP.
              05 RESP-TXN-OUTPUT-DATA-LEN     PIC 9(09) COMP.
              05 RESP-TXN-DATA-LEN            PIC 9(09) COMP.
              05 FILLER                       PIC X(08).
              05 RESP-MAJ-RET-CODE            PIC S9(04) COMP.
              05 RESP-MNR-RET-CODE            PIC S9(04) COMP.
              05 RESP-TIMESTAMP.
                 15 THE-DATE                  PIC X(8)  VALUE SPACES.
                 15 FILLER                    PIC X(2)  VALUE '--'.
                 15 THE-TIME                  PIC X(8)  VALUE SPACES.
                 15 FILLER2                   PIC X(25) VALUE SPACES.
           03 CARMODEL-CAR-FINDER.
      * As many cars as the response says; what follows them moves up.
              05 CARMODEL-CARS.
                 10 CARMODEL-CAR-DATA OCCURS 1 TO 100 TIMES
                    DEPENDING ON RESP-NBR-OF-CARS-RETURNED.
                    15 CARMODEL-1-REF               PIC X(12).
                    15 CARMODEL-2-MODEL             PIC X(12).
                    15 CARMODEL-3-COST              PIC X(12).
                    15 CARMODEL-4-LEATHERSEATS      PIC X(12).
                    15 CARMODEL-5-SUNROOF           PIC X(12).
                    15 CARMODEL-6-REARCAMERA        PIC X(12).
                    15 CARMODEL-7-SATNAV            PIC X(12).
                    15 CARMODEL-8-HEATEDSEATS       PIC X(12).
                    15 CARMODEL-9-BLUETOOTH         PIC X(12).
                    15 CARMODEL-10-PARKINGSENSORS   PIC X(12).
                    15 CARMODEL-11-ALLOYS           PIC X(12).
                    15 CARMODEL-12-REMOTESTART      PIC X(12).
                    15 CARMODEL-13-BLINDSPOT        PIC X(12).
                    15 CARMODEL-14-THIRDROWSEATING  PIC X(12).
                    15 CARMODEL-15-HEATEDMIRRORS    PIC X(12).
                    15 CARMODEL-16-FRONTCAMERA      PIC X(12).
                    15 CARMODEL-17-HEATEDWINDSCREEN PIC X(12).
                    15 CARMODEL-18-ALARM            PIC X(12).
                    15 CARMODEL-19-TRACKER          PIC X(12).
                    15 CARMODEL-20-POWERSEATS       PIC X(12).
              05 CARMODEL-DEALERS.
                 10 CARMODEL-DEALER-DATA OCCURS 1 TO 25 TIMES
                    DEPENDING ON RESP-NBR-OF-DEALERS-RETURNED.
                    15 CARMODEL-DEALERSHIP          PIC X(16).
                    15 CARMODEL-DEALER-COUNTRY      PIC X(2).
                       88 LOC-A                     VALUE 'UK'.
                       88 LOC-B                     VALUE 'FR'.
                       88 LOC-C                     VALUE 'DE'.
                    15 CARMODEL-DEALER-ADDRESS      PIC X(90).
                    15 CARMODEL-DEALER-PHONE-NUMBER PIC X(16).
              05 FILLER                       PIC X(2900).
