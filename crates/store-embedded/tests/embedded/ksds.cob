      *> A KSDS program as a COBOL programmer writes it: each line of the script is one operation, each line of the results its status and record.
       identification division.
       program-id. ksds.
       environment division.
       input-output section.
       file-control.
           select script assign to "script" organization line sequential.
           select results assign to "results" organization line sequential.
           select customers assign to "customers" organization indexed
               access mode dynamic record key rec-key
               alternate record key rec-alt with duplicates
               file status fs.
       data division.
       file section.
       fd script.
       01 script-line.
           05 op pic x.
           05 s-key pic x(4).
           05 s-alt pic x(3).
           05 s-data pic x(10).
       fd results.
       01 result-line.
           05 r-op pic x.
           05 r-status pic xx.
           05 r-record pic x(17).
       fd customers.
       01 rec.
           05 rec-key pic x(4).
           05 rec-alt pic x(3).
           05 rec-data pic x(10).
       working-storage section.
       01 fs pic xx.
       01 at-end pic x value "n".
       procedure division.
       main.
           open input script output results
           open output customers
           close customers
           open i-o customers
           perform until at-end = "y"
               read script
                   at end move "y" to at-end
                   not at end perform one-operation
               end-read
           end-perform
           close script results customers
           stop run.
       one-operation.
           move spaces to result-line
           evaluate op
               when "W"
                   move s-key to rec-key
                   move s-alt to rec-alt
                   move s-data to rec-data
                   write rec
               when "R"
                   move s-key to rec-key
                   read customers key is rec-key
                   perform show
               when "A"
                   move s-alt to rec-alt
                   read customers key is rec-alt
                   perform show
               when "U"
                   move s-key to rec-key
                   read customers key is rec-key
                   if fs = "00" or fs = "02"
                       move s-alt to rec-alt
                       move s-data to rec-data
                       rewrite rec
                   end-if
               when "D"
                   move s-key to rec-key
                   delete customers record
               when "S"
                   move s-key to rec-key
                   start customers key is not less than rec-key
               when "E"
                   move s-key to rec-key
                   start customers key is equal to rec-key
               when "T"
                   move s-alt to rec-alt
                   start customers key is not less than rec-alt
               when "N"
                   read customers next record
                   perform show
               when "P"
                   read customers previous record
                   perform show
           end-evaluate
           move op to r-op
           move fs to r-status
           write result-line.
       show.
           if fs = "00" or fs = "02"
               move rec to r-record
           end-if.
