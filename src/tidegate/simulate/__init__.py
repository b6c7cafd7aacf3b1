"""What happens in a whole network?"""
