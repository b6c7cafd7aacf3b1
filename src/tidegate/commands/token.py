"""The command `tidegate token`: a new token for a client of a broker."""


def token() -> None:
    """Print a new token, for a client, and its hash, for the broker's file."""
    from tidegate.network.guard import hash_of, new_token

    made = new_token()
    print(f"token: {made}")
    print(f"hash:  {hash_of(made)}")
