"""How is it called from a shell?"""
