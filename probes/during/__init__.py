"""What happens to an API's customers while a command runs?"""
