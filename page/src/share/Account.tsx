// In a share, what stands in place of `dialogs/Account.tsx`: nobody is signed in.

export const Account = () => null;
