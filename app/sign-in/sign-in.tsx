"use client";
import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useSearchParams } from "next/navigation";
import {
  type FormEvent,
  type ReactNode,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { Entry } from "@atelier/server/accounts";
import { enterAccount, minPasswordLength } from "../client/session.ts";
import { Button } from "../ui/button.tsx";
import { Field, Segmented } from "../ui/fields.tsx";
import { loadCode } from "../ui/code.ts";
import { useAuthError } from "./errors.ts";
import { SignInFrame } from "./frame.tsx";
import { offeringField, PasskeyEntry } from "./passkey.tsx";
import { finishEntry, headersOf, Providers, useEntered } from "./providers.tsx";

/** The token of a link: the one that the server printed for the first admin, or an invitation. */
interface EntryToken {
  readonly kind: "admin" | "invitation";
  readonly value: string;
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener("hashchange", onChange);
  return () => window.removeEventListener("hashchange", onChange);
}

function parse(hash: string): EntryToken | null {
  const [, kind, value] = /^#(admin|invitation)=([\w-]+)$/.exec(hash) ?? [];
  if (value === undefined) return null;
  return { kind: kind === "admin" ? "admin" : "invitation", value };
}

/** The token in the URL fragment, if usable now. Browsers do not send the fragment, so no log contains the token. */
function useEntryToken({ signUp, needsAdmin }: Entry): EntryToken | null {
  const hash = useSyncExternalStore(
    subscribe,
    () => window.location.hash,
    () => "",
  );
  const token = parse(hash);
  const isOfUse = token?.kind === "admin" ? needsAdmin : signUp === "invite";
  return isOfUse ? token : null;
}

type Person = Omit<Credentials, "password">;

const nobody: Person = { name: "", email: "" };

interface AccountFormProps {
  readonly mode: SignInMode;
  readonly token: EntryToken | null;
  readonly person: Person;
  readonly onChange: (changes: Partial<Person>) => void;
}

function AccountForm({ mode, token, person, onChange }: AccountFormProps) {
  const t = useTranslations("signIn");
  const textOf = useAuthError();
  // A new account does not get the password that the browser filled in for another one.
  const [password, setPassword] = useState("");
  const values = { ...person, password };
  const change = ({ password: typed = password, ...changes }: Partial<Credentials>) => {
    setPassword(typed);
    onChange(changes);
  };
  const form = useRef<HTMLFormElement>(null);
  // What was typed, or filled in by the browser, before the page's code was there.
  const takeTyped = useEffectEvent((typed: FormData) => {
    for (const name of ["name", "email", "password"] as const) {
      const text = typed.get(name);
      if (typeof text === "string" && text !== values[name]) change({ [name]: text });
    }
  });
  useLayoutEffect(() => {
    if (form.current) takeTyped(new FormData(form.current));
  }, []);
  const enter = useEnter(mode, token);
  if (enter.data)
    return (
      <enter.data.SecondStep
        textOf={textOf}
        headers={headersOf(token?.value ?? null)}
        onEntered={finishEntry}
        onBack={() => enter.reset()}
      />
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    enter.mutate(values);
  };
  return (
    // POST, because a submit before hydration would put the password into the URL.
    <form ref={form} method="post" onSubmit={submit} className="mt-5 flex flex-col gap-4">
      <AccountFields mode={mode} values={values} onChange={change} />
      {enter.isError ? (
        <p role="alert" className="text-xs text-fail">
          {textOf(enter.error)}
        </p>
      ) : null}
      <Button type="submit" look="primary" size="large" disabled={enter.isPending} className="mt-1 w-full">
        {t(mode === "create" ? "create" : "enter")}
      </Button>
      {mode === "create" ? null : <PasskeyEntry token={token?.value ?? null} hasField />}
    </form>
  );
}

interface EntryNotesProps {
  readonly entry: Entry;
  readonly token: EntryToken | null;
}

function Note({ children }: { readonly children: ReactNode }) {
  return (
    <p className="mb-5 flex gap-2.5 rounded-control bg-well px-3 py-2.5 text-xs text-quiet ring-1 ring-line ring-inset">
      <KeyRound className="mt-px size-4 shrink-0" aria-hidden />
      <span className="min-w-0">{children}</span>
    </p>
  );
}

/** Explains what the link does, or where to find the link of the first admin. */
function EntryNote({ entry, token }: EntryNotesProps) {
  const t = useTranslations("signIn.entry");
  if (token !== null) return <Note>{t(token.kind)}</Note>;
  if (!entry.needsAdmin) return null;
  return (
    <Note>
      {t.rich("needsAdmin", { file: (name) => <code className="break-words text-ink">{name}</code> })}
    </Note>
  );
}

/** Other ways to sign in: as a guest, or by asking the operator. */
function EntryFooter({ entry, token }: EntryNotesProps) {
  const t = useTranslations("signIn");
  if (entry.signUp !== "open" && token !== null) return null;
  return (
    <p className="mt-6 border-t border-line pt-4 text-xs text-quiet">
      {entry.signUp === "open" ? (
        <>
          {t("guest")}{" "}
          <Link href="/" className="touch text-ink underline underline-offset-4">
            {t("guestAction")}
          </Link>
        </>
      ) : (
        t(`entry.${entry.signUp}`)
      )}
    </p>
  );
}

type SignInMode = "signIn" | "create";

/** The card to sign in or to create an account. */
export function SignInCard({ entry }: { readonly entry: Entry }) {
  const t = useTranslations("signIn");
  const token = useEntryToken(entry);
  const tokenValue = token?.value ?? null;
  const textOf = useAuthError();
  const query = useSearchParams();
  const hasEntered = useEntered();
  const isNew = query.has("new") || token !== null;
  // Without passwords an admin can still come in by one that was just set on the command line.
  const hasForm = entry.passwords || query.has("password");
  const [chosen, setMode] = useState<SignInMode | null>(null);
  const [person, setPerson] = useState(nobody);
  const canCreate = entry.passwords && (entry.signUp === "open" || token !== null);
  const mode = canCreate ? (chosen ?? (isNew ? "create" : "signIn")) : "signIn";
  return (
    <SignInFrame title={t(`titles.${mode}`)} text={t(`texts.${mode}`)}>
      <EntryNote entry={entry} token={token} />
      <Providers
        providers={entry.providers}
        token={tokenValue}
        textOf={textOf}
        isBusy={hasEntered}
        hasMore={hasForm}
      />
      {canCreate ? (
        <Segmented
          label={t("choice")}
          value={mode}
          onChange={setMode}
          options={[
            { value: "signIn", label: t("modes.signIn") },
            { value: "create", label: t("modes.create") },
          ]}
        />
      ) : null}
      {hasForm ? (
        <AccountForm
          key={mode}
          mode={mode}
          token={token}
          person={person}
          onChange={(changes) => setPerson((before) => ({ ...before, ...changes }))}
        />
      ) : (
        <div className="mt-3 flex flex-col gap-3">
          <PasskeyEntry token={tokenValue} hasField={false} />
        </div>
      )}
      <EntryFooter entry={entry} token={token} />
    </SignInFrame>
  );
}

interface Credentials {
  /** Used for a new account only. */
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

const needsCode = (data: unknown) => Reflect.get(Object(data), "twoFactorRedirect") === true;

/** Signs in or creates an account; loads the second step when a code is still needed, else null. */
function useEnter(mode: SignInMode, token: EntryToken | null) {
  const fetchOptions = { headers: headersOf(token?.value ?? null) };
  return useMutation({
    mutationFn: async ({ name, email, password }: Credentials) => {
      const answer = await enterAccount<{ data: unknown; error: unknown }>((client) =>
        mode === "create"
          ? client.signUp.email({ name: name.trim(), email, password, fetchOptions })
          : client.signIn.email({ email, password, fetchOptions }),
      );
      if (answer.error !== null) throw answer.error;
      return needsCode(answer.data) ? loadCode(() => import("./second-step.tsx")) : null;
    },
    onSuccess: (second) => (second === null ? finishEntry() : undefined),
  });
}

interface AccountFieldsProps {
  readonly mode: SignInMode;
  readonly values: Credentials;
  readonly onChange: (changes: Partial<Credentials>) => void;
}

function PasswordField({ mode, values, onChange }: AccountFieldsProps) {
  const t = useTranslations("signIn");
  const isNew = mode === "create";
  return (
    <Field
      name="password"
      label={t("password")}
      type="password"
      autoComplete={isNew ? "new-password" : "current-password"}
      required
      minLength={isNew ? minPasswordLength : undefined}
      hint={isNew ? t("passwordHint", { min: minPasswordLength }) : undefined}
      value={values.password}
      onValueChange={(password) => onChange({ password })}
    />
  );
}

/** The fields to sign in; a new account has a name too. */
function AccountFields(props: AccountFieldsProps) {
  const { mode, values, onChange } = props;
  const t = useTranslations("signIn");
  return (
    <>
      {mode === "create" ? (
        <Field
          name="name"
          label={t("name")}
          autoComplete="name"
          required
          maxLength={80}
          value={values.name}
          onValueChange={(name) => onChange({ name })}
        />
      ) : null}
      <Field
        name="email"
        label={t("email")}
        type="email"
        autoComplete={mode === "create" ? "email" : offeringField}
        required
        value={values.email}
        onValueChange={(email) => onChange({ email })}
      />
      <PasswordField {...props} />
    </>
  );
}
