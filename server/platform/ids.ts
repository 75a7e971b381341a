import { v7 } from "uuid";

/** A new id: UUID version 7, so that ids sort by the time they were made. */
export function newId(): string {
  return v7();
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text from outside has the form of an id; a wrong form is answered like an unknown id. */
export function isId(value: string): boolean {
  return uuidPattern.test(value);
}
