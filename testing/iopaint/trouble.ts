import { json, type Answer } from "../comfyui/http/answer.ts";

/** What Python raised: becomes the JSON error of IOPaint. */
export class Trouble extends Error {
  readonly status: number;
  readonly error: string;

  constructor(status: number, error: string, message: string) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

/** An HTTPException of FastAPI. */
export function refused(status: number, detail: string): Trouble {
  return new Trouble(status, "HTTPException", detail);
}

/** `{error, detail, body, errors}` with the status. */
export function showTrouble({ status, error, message }: Trouble): Answer {
  const isRefusal = error === "HTTPException";
  const detail = isRefusal ? message : "";
  const errors = isRefusal ? `${status}: ${message}` : message;
  return json({ error, detail, body: "", errors }, status);
}

/** A request body that misses a field, as pydantic tells it. */
export function missingField(name: string): Answer {
  const detail = [{ type: "missing", loc: ["body", name], msg: "Field required", input: {} }];
  return json({ detail }, 422);
}
