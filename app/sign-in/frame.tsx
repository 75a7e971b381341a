import type { ReactNode } from "react";
import { BrowserLanguage } from "../frame/language.tsx";

interface Props {
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

/** One card over a quiet picture. */
export function SignInFrame({ title, text, children }: Props) {
  return (
    <div className="relative flex min-h-dvh items-center overflow-hidden justify-center px-4 py-10 max-wide:-mb-36 max-wide:pb-24 wide:-mb-16">
      <img
        src="/samples/small/coffee-blurred.webp"
        alt=""
        className="absolute inset-0 size-full object-cover opacity-40 saturate-[0.7]"
      />
      <section
        aria-labelledby="sign-in-title"
        className="relative w-full max-w-[400px] rounded-card bg-raised p-6 shadow-float sm:p-8"
      >
        <h1 id="sign-in-title" className="text-xl">
          {title}
        </h1>
        <p className="mt-1.5 mb-6 text-sm text-quiet">{text}</p>
        {children}
        <div className="mt-6">
          <BrowserLanguage />
        </div>
      </section>
    </div>
  );
}
