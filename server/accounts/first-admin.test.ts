import {
  createTestServices,
  openAccount,
  openGuest,
  openTestBrowser,
  testPassword,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { createUser, workerAccount } from "./index.ts";

const { users } = schema;

test("of ten first sign-ups at once in two processes exactly one becomes admin", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    const other = await fixture.openAnother();
    await openGuest(services);
    const racers = Array.from({ length: 10 }, (_, index) =>
      openAccount(index % 2 ? services : other, `racer-${index}@example.com`),
    );
    await Promise.all(racers);
    const rows = await services.db.select({ role: users.role, isGuest: users.isAnonymous }).from(users);
    expect(rows).toHaveLength(11);
    expect(rows.filter(({ role }) => role === "admin")).toEqual([{ role: "admin", isGuest: false }]);
  } finally {
    await fixture.close();
  }
});

test("a guest never becomes admin, the first account does, later ones do not", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    const guest = await openGuest(services);
    expect(await services.db.$count(users, eq(users.role, "admin"))).toBe(0);
    await guest.auth("/sign-up/email", { email: "first@example.com", password: testPassword, name: "First" });
    await openAccount(services, "second@example.com");
    await createUser(services, { email: "third@example.com", password: testPassword });
    const admins = await services.db
      .select({ email: users.email })
      .from(users)
      .where(eq(users.role, "admin"));
    expect(admins).toEqual([{ email: "first@example.com" }]);
  } finally {
    await fixture.close();
  }
});

test("without any admin the oldest account is promoted, never the newcomer", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    await openAccount(services, "oldest@example.com");
    await services.db.update(users).set({ role: "user" });
    await openTestBrowser(services).auth("/sign-up/email", {
      email: "newcomer@example.com",
      password: testPassword,
      name: "Newcomer",
    });
    const admins = await services.db
      .select({ email: users.email })
      .from(users)
      .where(eq(users.role, "admin"));
    expect(admins).toEqual([{ email: "oldest@example.com" }]);
  } finally {
    await fixture.close();
  }
});

test("A14 the account of the workers is made once and never becomes admin", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    const made = await Promise.all(Array.from({ length: 5 }, () => workerAccount(services)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    await openAccount(services, "first@example.com");
    const rows = await services.db.select({ email: users.email, role: users.role }).from(users);
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual({ email: "first@example.com", role: "admin" });
    expect(rows).toContainEqual({ email: "workers@atelier.invalid", role: "service" });
  } finally {
    await fixture.close();
  }
});

test("A14 the account of the workers is never an account of a person that holds its address", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    const email = "workers@atelier.invalid";
    // Made by an earlier version, which accepted the address.
    await services.db.insert(users).values({ id: "squatter", name: "Sly", email, role: "user" });
    const made = await Promise.all(Array.from({ length: 5 }, () => workerAccount(services)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(made[0]?.id).not.toBe("squatter");
    const rows = await services.db.select({ id: users.id, role: users.role }).from(users);
    expect(rows).toContainEqual({ id: "squatter", role: "user" });
    expect(rows).toContainEqual({ id: made[0]?.id, role: "service" });
    expect(rows).toHaveLength(2);
  } finally {
    await fixture.close();
  }
});

test("A14 the account of the workers is found by its role when its address was changed", async () => {
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    const { id } = await workerAccount(services);
    await services.db.update(users).set({ email: "changed@example.com" }).where(eq(users.id, id));
    expect(await workerAccount(services)).toEqual({ id });
  } finally {
    await fixture.close();
  }
});
