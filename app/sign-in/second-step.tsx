"use client";
import { useMutation } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { enterAccount } from "../client/session.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, Field } from "../ui/fields.tsx";

interface Props {
  /** The text of an error of the account service. */
  readonly textOf: (error: unknown) => string;
  readonly headers: Record<string, string>;
  readonly onEntered: () => Promise<void>;
  readonly onBack: () => void;
}

/** After the password: the code of the authenticator app, or a recovery code. */
export function SecondStep({ textOf, headers, onEntered, onBack }: Props) {
  const t = useTranslations("signIn.second");
  const [isRecovery, setRecovery] = useState(false);
  const [code, setCode] = useState("");
  const [trustDevice, setTrust] = useState(false);
  const verify = useMutation({
    mutationFn: async () => {
      const body = {
        code: code.trim(),
        trustDevice,
        fetchOptions: { headers },
      };
      const { error } = await enterAccount<{ error: unknown }>(({ twoFactor }) =>
        isRecovery ? twoFactor.verifyBackupCode(body) : twoFactor.verifyTotp(body),
      );
      if (error !== null) throw error;
    },
    onSuccess: onEntered,
    onError: () => setCode(""),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    verify.mutate();
  };
  const change = () => {
    verify.reset();
    setCode("");
    setRecovery(!isRecovery);
  };
  return (
    // POST, because a submit before hydration would put the code into the URL.
    <form method="post" onSubmit={submit} className="mt-5 flex flex-col gap-4">
      <Field
        key={String(isRecovery)}
        name={isRecovery ? "recovery-code" : "one-time-code"}
        label={t(isRecovery ? "recoveryCode" : "code")}
        hint={t(isRecovery ? "recoveryHint" : "codeHint")}
        autoComplete={isRecovery ? "off" : "one-time-code"}
        inputMode={isRecovery ? "text" : "numeric"}
        autoCapitalize="none"
        spellCheck={false}
        required
        maxLength={isRecovery ? 40 : 12}
        value={code}
        onValueChange={setCode}
        error={verify.isError ? textOf(verify.error) : null}
      />
      <Checkbox checked={trustDevice} onChange={setTrust}>
        {t("trust")}
      </Checkbox>
      <Button type="submit" look="primary" size="large" disabled={verify.isPending} className="mt-1 w-full">
        {t("enter")}
      </Button>
      <div className="flex flex-wrap justify-between gap-2">
        <Button size="small" look="quiet" onClick={change}>
          {t(isRecovery ? "useApp" : "useRecovery")}
        </Button>
        <Button size="small" look="quiet" onClick={onBack}>
          {t("back")}
        </Button>
      </div>
    </form>
  );
}
