      * The record of the samples: 32 bytes, key of 8 bytes.
       01  SAMPLE.
           05  CHAR-FIELD-1    PIC X(8).
           05  INT-FIELD-1     PIC S9(9) COMP.
           05  INT-FIELD-2     PIC S9(9) COMP.
           05  CHAR-FIELD-2    PIC X(16).
