import { z } from "zod";

const longestText = 200;
const largestInteger = 2 ** 31 - 1;

/** A text that a server says, made fit for a row and a page: one line that the database takes, 200 characters at most. */
export const foreignText = z.string().transform((text) =>
  text
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, longestText)
    .toWellFormed(),
);

/** A count that a server says: whole, not negative, within an `integer` of the database. */
export const foreignCount = z.number().transform((value) => wholeUpTo(largestInteger, value));

/** A size in bytes that a server says: whole, not negative, and exact as a number. */
export const foreignBytes = z.number().transform((value) => wholeUpTo(Number.MAX_SAFE_INTEGER, value));

function wholeUpTo(most: number, value: number): number {
  return Math.min(most, Math.max(0, Math.round(value)));
}
