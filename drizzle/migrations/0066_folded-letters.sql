-- Letters that searches now read as others (ł, ø, æ, ı, ’), and points and vowels of Hebrew and Arabic, as `searchKey` writes them:
-- texts with one of them are filled again, before the next search of their owner or by a worker.
UPDATE "images" SET "search_key" = NULL WHERE "search_key" ~
  'AN(ORW|OST|OTO|OTU|OVN|OWW|OXT|OYX|PNO|ROY|VS[V-Z]|V[TUV][N-Z]|VW[NPRSUVWX]|WQ[XYZ]|WR[NO]|WT[OZ]|WU[NOPQRSTUVWXYZ]|WV[NOPQRST]|WWX|XPZ|XQO|XRS)|AQWV[NO]';
