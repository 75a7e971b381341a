/** Who calls: resolved from the session cookie or an API key. */
export interface Caller {
  readonly userId: string;
  readonly isGuest: boolean;
  readonly isAdmin: boolean;
  readonly via: "session" | "api_key";
}
