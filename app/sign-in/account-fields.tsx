import { useTranslations } from "next-intl";
import { Field } from "../ui/field.tsx";
import type { Credentials } from "./use-enter.ts";
import type { SignInMode } from "./sign-in.tsx";
import { minPasswordLength } from "./use-auth-error.ts";

interface Props {
  readonly mode: SignInMode;
  readonly values: Credentials;
  readonly onChange: (changes: Partial<Credentials>) => void;
}

function PasswordField({ mode, values, onChange }: Props) {
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

/** What is asked of somebody who signs in; a new account has a name too. */
export function AccountFields(props: Props) {
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
        autoComplete="email"
        required
        value={values.email}
        onValueChange={(email) => onChange({ email })}
      />
      <PasswordField {...props} />
    </>
  );
}
