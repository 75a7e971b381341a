import { z } from "zod";

/** Whether the database takes a text: it knows neither NUL nor half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** A text from outside without line breaks and other control characters. */
export const lineOfText = z
  .string()
  .refine((text) => isStorable(text) && !/\p{Cc}/u.test(text), "must hold no control characters");
