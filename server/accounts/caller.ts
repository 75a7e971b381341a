/** The sender of a request, resolved from the session cookie or an API key. */
export interface Caller {
  readonly userId: string;
  readonly isGuest: boolean;
  readonly isAdmin: boolean;
  readonly via: "session" | "api_key";
}

/** The columns of `users` that decide about a caller. */
export interface UserFacts {
  readonly id: string;
  readonly role?: string | null | undefined;
  readonly isAnonymous?: boolean | null | undefined;
  readonly banned?: boolean | null | undefined;
  readonly banExpires?: Date | null | undefined;
}

/** A ban ends by itself at `banExpires`. */
export function isBanned(user: UserFacts): boolean {
  return user.banned === true && (!user.banExpires || user.banExpires > new Date());
}
