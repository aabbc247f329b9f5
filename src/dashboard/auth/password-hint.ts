export const passwordHint = "10 characters or more; a few words are easy to remember and hard to guess";
